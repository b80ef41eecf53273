import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function WebhookPage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.webhooks.title}>{null}</Page>;
}
