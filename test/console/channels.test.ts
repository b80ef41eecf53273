import { describeWithProgram } from '../support/programs';
import { useConsoleShop } from './console-shop';

describeWithProgram('chromium', 'the channels of a merchant', () => {
  const own = useConsoleShop();
  const { browser, open } = own;

  test('show the address of each feed, and what a channel would refuse, with links to the products', async () => {
    const price = { price_currency: 'PEN', price_amount: 4_200 };
    const vendor = 'Taller Amancay';
    const variants = ['S', 'M'].map((Talla) => ({ option_values: { Talla } }));
    await own.client.publications.create({
      ...price,
      vendor,
      title: 'Taza Amancay',
      description: 'De gres.',
    });
    await own.client.publications.create({ ...price, vendor, title: 'Polo', variants });
    const page = await open();
    await page.getByRole('link', { name: 'Channels' }).click();

    await page.getByText(`${own.harness.url}/feeds/google.xml`).waitFor();
    const problems = page.getByRole('grid', { name: 'What the channel would refuse' });
    const productsOf = async (problem: string) => {
      const row = problems.getByRole('row', { name: problem });
      await row.waitFor();
      return (await row.getByRole('gridcell').allTextContents()).map((text) => text.trim());
    };
    expect(await productsOf('image_link is missing')).toEqual([
      expect.stringContaining('Refused'),
      expect.stringContaining('2'),
    ]);
    expect(await productsOf('gtin is missing')).toEqual([
      expect.stringContaining('Shown less'),
      expect.stringContaining('2'),
    ]);
    expect(await browser().look(page, 'channels')).toEqual([]);

    await problems.getByRole('row', { name: 'description is missing' }).click();
    const missing = page.getByRole('grid', { name: 'description is missing' });
    await missing.getByRole('row', { name: 'Polo' }).waitFor();
    expect(await missing.getByRole('row', { name: 'Taza Amancay' }).count()).toBe(0);
    await page.getByRole('tab', { name: 'Meta' }).click();
    await page.getByText(`${own.harness.url}/feeds/meta.csv`).waitFor();
    await problems.getByRole('row', { name: 'description is missing' }).click();
    await missing.getByRole('row', { name: 'Polo' }).click();

    await page.getByRole('heading', { name: 'Polo', level: 1 }).waitFor();
    const { data } = await own.client.publications.list().page();
    const polo = data.find(({ title }) => title === 'Polo')!;
    await own.client.publications.update(polo.id, { description: 'De algodón.' });
    await page.goBack();
    await page.getByRole('tab', { name: 'Meta', selected: true }).waitFor();
    await missing.waitFor({ state: 'detached' });
  });

  test('accept all products of an empty store', async () => {
    const page = await open('/channels?channel=acp');
    await page.getByText('The channel accepts all products').waitFor();
    expect(await browser().look(page, 'channels-empty', false)).toEqual([]);
  });
});
