import type { Key } from 'catalog-client';
import { formatDate } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Badge } from '../../ui/feedback';

/** Whether a key works, and until when. */
export function KeyState({ apiKey: { status, expires_at } }: { readonly apiKey: Key }) {
  const t = useTexts();
  const locale = useLocale();
  if (status === 'active' && expires_at)
    return <Badge tone="warn">{t.keys.activeUntil(formatDate(expires_at, locale))}</Badge>;
  return <Badge tone={status === 'active' ? 'good' : 'neutral'}>{t.keys.states[status]}</Badge>;
}
