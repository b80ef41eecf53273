import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function StorePage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.store.title}>{null}</Page>;
}
