import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function HistoryPage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.history.title}>{null}</Page>;
}
