import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function OverviewPage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.overview.title}>{null}</Page>;
}
