import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function KeysPage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.keys.title}>{null}</Page>;
}
