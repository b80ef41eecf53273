import { useEffect, useRef, useState } from 'react';

const PAUSE_MS = 150;

/**
 * Returns what somebody types as a state that begins with `value`. Calls `onPause` with it when the typing pauses, so that a
 * list is not read again at each key.
 */
export function useTyping<Value>(
  value: Value,
  onPause: (value: Value) => void,
): readonly [Value, (value: Value) => void] {
  const [typed, setTyped] = useState(value);
  const written = useRef(value);
  const latest = useRef(onPause);
  latest.current = onPause;
  useEffect(() => {
    if (value === written.current) return;
    written.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => {
    if (typed === written.current) return;
    const timer = setTimeout(() => {
      written.current = typed;
      latest.current(typed);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return [typed, setTyped];
}
