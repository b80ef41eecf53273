import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function ImportPage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.imports.title}>{null}</Page>;
}
