import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function ProductPage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.product.title}>{null}</Page>;
}
