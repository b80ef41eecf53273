import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function ReviewsPage(_: { readonly id: string }) {
  const t = useTexts();
  return <Page title={t.reviews.title}>{null}</Page>;
}
