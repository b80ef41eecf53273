import { type ReactNode, useRef, useState } from 'react';
import { useTexts } from '../texts/texts';
import { Button } from './button';
import { Dialog } from './overlay';
import './secret.css';

interface SecretDialogProps {
  readonly title: string;
  /** What the secret is for. */
  readonly note: string;
  readonly secret: string;
  readonly onClose: () => void;
  /** How to use it. */
  readonly children?: ReactNode;
}

/** Shows a text in one line, with a button that copies it. */
export function CopyLine({ text }: { readonly text: string }) {
  const t = useTexts();
  const ref = useRef<HTMLElement>(null);
  const [is_copied, setCopied] = useState(false);
  const copy = async () => {
    // Without the right to copy, for example on a page without TLS, the selected text is there for Ctrl+C.
    getSelection()?.selectAllChildren(ref.current!);
    await navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => {},
    );
  };
  return (
    <div className="secret">
      <code ref={ref}>{text}</code>
      <Button icon={is_copied ? 'check' : 'copy'} onPress={() => void copy()}>
        {is_copied ? t.secret.copied : t.secret.copy}
      </Button>
    </div>
  );
}

/** Shows a secret that cannot be read again, with a button that copies it. Closes only by its button. */
export function SecretDialog({ title, note, secret, onClose, children }: SecretDialogProps) {
  const t = useTexts();
  return (
    <Dialog
      title={title}
      isOpen
      isDismissable={false}
      onClose={onClose}
      footer={
        <Button kind="primary" onPress={onClose}>
          {t.secret.stored}
        </Button>
      }
    >
      <p>{note}</p>
      <CopyLine text={secret} />
      <p className="muted">{t.secret.once}</p>
      {children}
    </Dialog>
  );
}
