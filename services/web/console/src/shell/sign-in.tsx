import { CatalogApiError } from 'catalog-client';
import { useState } from 'react';
import { Form } from 'react-aria-components';
import { messageOf } from '../lib/errors';
import { signIn } from '../lib/session';
import { useTexts } from '../texts/texts';
import { Button } from '../ui/button';
import { TextField } from '../ui/fields';
import { Page } from '../ui/layout';
import { Dialog } from '../ui/overlay';
import './sign-in.css';

export interface CredentialFormProps {
  readonly label: string;
  readonly note: string;
  /** Rejects if the credential is refused. */
  readonly onSubmit: (credential: string) => Promise<void>;
  /** Why a refused credential was refused. */
  readonly reasonOf: (error: unknown) => string;
}

/** Asks for a key or a token. */
export function CredentialForm({ label, note, onSubmit, reasonOf }: CredentialFormProps) {
  const t = useTexts();
  const [credential, setCredential] = useState('');
  const [fault, setFault] = useState<string>();
  const [is_pending, setPending] = useState(false);
  const submit = async () => {
    setPending(true);
    setFault(undefined);
    await onSubmit(credential.trim()).catch((error: unknown) => setFault(reasonOf(error)));
    setPending(false);
  };
  return (
    <Form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <TextField
        label={label}
        hint={note}
        fault={fault}
        type="password"
        autoComplete="current-password"
        value={credential}
        onChange={setCredential}
        isRequired
        autoFocus
      />
      <Button type="submit" kind="primary" isPending={is_pending}>
        {t.session.signIn}
      </Button>
    </Form>
  );
}

function KeyForm() {
  const t = useTexts();
  const reasonOf = (error: unknown): string => {
    if (!(error instanceof CatalogApiError)) return messageOf(error, t);
    if (error.status === 429) return t.session.tooMany;
    if (error.status === 403) return t.session.notSecret;
    return error.status === 401 ? t.session.refused : messageOf(error, t);
  };
  return (
    <CredentialForm label={t.session.label} note={t.session.note} onSubmit={signIn} reasonOf={reasonOf} />
  );
}

export function SignInPage() {
  const t = useTexts();
  return (
    <div className="sign-in">
      <Page title={t.session.title}>
        <KeyForm />
      </Page>
    </div>
  );
}

/** Asks for the key again, over the page with what was typed. */
export function SignInDialog() {
  const t = useTexts();
  return (
    <Dialog title={t.session.ended} isOpen isDismissable={false} onClose={() => {}}>
      <p>{t.session.endedNote}</p>
      <KeyForm />
    </Dialog>
  );
}
