import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function ListingsPage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.listings.title}>{null}</Page>;
}
