import { describeWithProgram } from '../support/programs';
import { signIn, useConsoleShop } from './console-shop';

/** Script of the first page as it is sent, compressed. */
const SCRIPT_BYTES_MAX = 250_000;

describeWithProgram('chromium', 'the session of a merchant', () => {
  const own = useConsoleShop();
  const { browser } = own;

  test('begins with a secret key, and ends in all windows with the sign-out', async () => {
    const page = await browser().newPage(own.harness.url, { locale: 'en-US' });
    await page.goto('/console');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await browser().look(page, 'sign-in')).toEqual([]);
    for (const [key, reason] of [
      [own.shop.public.key, 'This is not a secret key'],
      ['sk_live_unknown', 'This key is unknown'],
    ] as const) {
      await page.getByLabel('Secret key').fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText(reason).waitFor();
    }
    await signIn(page, own.shop.secret.key);
    browser().expectProblem('/console/session');
    const sizes = (await page.evaluate(`performance.getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('.js')).map(({ encodedBodySize }) => encodedBodySize)`)) as number[];
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(SCRIPT_BYTES_MAX);

    const other = await page.context().newPage();
    await other.goto('/console/products');
    await other.getByRole('heading', { name: 'Products', level: 1 }).waitFor();
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    for (const each of [page, other]) await each.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
});
