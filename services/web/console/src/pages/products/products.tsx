import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function ProductsPage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.products.title}>{null}</Page>;
}
