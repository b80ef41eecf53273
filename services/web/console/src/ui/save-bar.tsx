import { useEffect } from 'react';
import { useTexts } from '../texts/texts';
import { Button } from './button';
import './save-bar.css';

interface SaveBarProps {
  readonly isChanged: boolean;
  readonly isPending: boolean;
  /** Why nothing can be saved, or what was refused. */
  readonly fault?: string | undefined;
  readonly isBlocked?: boolean;
  readonly onSave: () => void;
  readonly onDiscard: () => void;
}

/** The buttons of an editor, at the lower edge while something is not saved. Ctrl+S or ⌘S saves. */
export function SaveBar({ isChanged, isPending, fault, isBlocked = false, onSave, onDiscard }: SaveBarProps) {
  const t = useTexts();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 's' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      if (isChanged && !isPending && !isBlocked) onSave();
    };
    addEventListener('keydown', onKey, true);
    return () => removeEventListener('keydown', onKey, true);
  }, [isChanged, isPending, isBlocked, onSave]);
  if (!isChanged) return null;
  return (
    <section className="save-bar" aria-label={t.common.unsaved}>
      <strong className={fault ? 'fault' : ''} role="status">
        {fault ?? t.common.unsaved}
      </strong>
      <Button kind="quiet" onPress={onDiscard} isDisabled={isPending}>
        {t.common.discard}
      </Button>
      <Button kind="primary" onPress={onSave} isPending={isPending} isDisabled={isBlocked}>
        {t.common.save}
      </Button>
    </section>
  );
}
