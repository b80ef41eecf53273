import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function MediaPage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.media.title}>{null}</Page>;
}
