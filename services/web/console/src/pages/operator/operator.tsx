import { useTexts } from '../../texts/texts';
import { Page } from '../../ui/layout';

export default function OperatorPage() {
  const t = useTexts();
  return <Page title={t.operator.title}>{null}</Page>;
}
