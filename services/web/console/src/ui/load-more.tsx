import { useEffect, useRef, useState } from 'react';
import { useTexts } from '../texts/texts';
import { Button } from './button';
import { Loading } from './feedback';

/** Before the end of a list is in sight. */
const MARGIN = '600px';

interface LoadMoreProps {
  /** Loads more. Returns false if that is already under way. */
  readonly onReach: () => false | Promise<{ readonly isError: boolean }>;
}

/** The end of what is loaded of a list. Calls `onReach` until the end is out of sight, or until an error. */
export function LoadMore({ onReach }: LoadMoreProps) {
  const t = useTexts();
  const end = useRef<HTMLDivElement>(null);
  const reach = useRef(onReach);
  reach.current = onReach;
  const [has_failed, setFailed] = useState(false);
  useEffect(() => {
    const target = end.current;
    if (has_failed || !target) return;
    let is_over = false;
    const observer = new IntersectionObserver(
      async (entries) => {
        if (!entries.at(-1)!.isIntersecting) return;
        const answer = await reach.current();
        if (is_over) return;
        if (answer && answer.isError) return setFailed(true);
        // An observer reports only crossings. Observed anew, it reports an end that is still in sight.
        observer.unobserve(target);
        observer.observe(target);
      },
      { rootMargin: MARGIN },
    );
    observer.observe(target);
    return () => {
      is_over = true;
      observer.disconnect();
    };
  }, [has_failed]);
  return (
    <div ref={end}>
      {has_failed ? (
        <Button onPress={() => setFailed(false)}>{t.common.tryAgain}</Button>
      ) : (
        <Loading lines={3} />
      )}
    </div>
  );
}
