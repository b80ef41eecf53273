import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { fieldErrorsOf } from '../../lib/errors';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { Badge, say, sayError, sayFailed } from '../../ui/feedback';
import { Dialog, Menu, type MenuAction } from '../../ui/overlay';

/** Such as `14:03:22`, as in the log of the service. */
export const clockOf = (at_ms: number): string => new Date(at_ms).toTimeString().slice(0, 8);

const MOMENT = {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
} as const;

/** A moment with its seconds, and with its year if it is not this one. */
export function Moment({ at }: { readonly at: string }) {
  const locale = useLocale();
  const date = new Date(at);
  const is_this_year = date.getFullYear() === new Date().getFullYear();
  const format = new Intl.DateTimeFormat(locale, is_this_year ? MOMENT : { ...MOMENT, year: 'numeric' });
  return (
    <time dateTime={at} className="moment">
      {format.format(date)}
    </time>
  );
}

/** The page of a stream; from an event on if there is a `revision`. */
export const streamHref = (stream: string, revision?: number): string =>
  `/operator/events/${encodeURIComponent(stream)}${revision === undefined ? '' : `?from=${revision}`}`;

/** The name of a stream, which opens its events. */
export const StreamLink = ({ stream, revision }: { readonly stream: string; readonly revision?: number }) => (
  <Link href={streamHref(stream, revision)}>
    <code>{stream}</code>
  </Link>
);

/** A text with a button that copies it. */
export function Copyable({ text }: { readonly text: string }) {
  const t = useTexts();
  const copy = async () => {
    try {
      // Browsers have no clipboard for pages without TLS.
      await navigator.clipboard.writeText(text);
      say(t.secret.copied);
    } catch {
      sayFailed(t.operator.notCopied);
    }
  };
  return (
    <span className="copyable">
      <code>{text}</code>
      <IconButton icon="copy" label={t.secret.copy} onPress={() => void copy()} />
    </span>
  );
}

/** A write of an operator. Says why it failed, unless a field of the form does. All that is shown is read again after it. */
export function useWrite<Input, Result>(
  write: (input: Input) => Promise<Result>,
  onDone: (result: Result, input: Input) => void = () => {},
) {
  const t = useTexts();
  return useMutation({
    mutationFn: write,
    networkMode: 'always',
    onSuccess: (result, input) => onDone(result, input),
    onError: (error) => {
      if (Object.keys(fieldErrorsOf(error, t)).length === 0) sayError(error, t);
    },
  });
}

export const EnvironmentBadge = ({ of }: { readonly of: 'live' | 'test' }) => {
  const t = useTexts();
  return <Badge tone={of === 'live' ? 'info' : 'neutral'}>{t.operator.realms[of]}</Badge>;
};

interface FormDialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly isPending: boolean;
  readonly action: string;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
}

/** A dialog whose fields are sent with its main action, or with Enter. */
export function FormDialog({ title, children, isPending, action, onSubmit, onClose }: FormDialogProps) {
  const t = useTexts();
  return (
    <Dialog
      title={title}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{t.common.cancel}</Button>
          <Button kind="primary" type="submit" form="operator-form" isPending={isPending}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id="operator-form"
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {children}
      </form>
    </Dialog>
  );
}

/** The menu at the end of a row. `name`: of the row. */
export function RowMenu({
  name,
  items,
}: {
  readonly name: string;
  readonly items: readonly (MenuAction | '-')[];
}) {
  const t = useTexts();
  const label = t.operator.actionsOf(name);
  return (
    <span className="row-actions">
      <Menu label={label} trigger={<IconButton icon="more" label={label} />} items={items} />
    </span>
  );
}
