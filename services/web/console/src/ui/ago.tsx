import { formatAgo, formatTime } from '../lib/format';
import { useLocale } from '../texts/texts';

/** How long ago something was, such as `2 hours ago`. Its title has the time. */
export function Ago({ at }: { readonly at: string }) {
  const locale = useLocale();
  return (
    <time dateTime={at} title={formatTime(at, locale)}>
      {formatAgo(at, locale)}
    </time>
  );
}
