import { useEffect, useRef } from 'react';
import { Loading } from './feedback';

/** Before the end of a list is in sight. */
const MARGIN = '600px';

/** The end of what is loaded of a list. Calls `onReach` when it comes into sight. */
export function LoadMore({ onReach }: { readonly onReach: () => unknown }) {
  const end = useRef<HTMLDivElement>(null);
  const reach = useRef(onReach);
  reach.current = onReach;
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && reach.current(),
      { rootMargin: MARGIN },
    );
    observer.observe(end.current!);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={end}>
      <Loading lines={3} />
    </div>
  );
}
