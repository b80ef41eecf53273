import { useMutation } from '@tanstack/react-query';
import { CatalogApiError, CatalogConnectionError } from 'catalog-client';
import { useEffect, useRef, useState } from 'react';
import { Label, Radio, RadioGroup } from 'react-aria-components';
import { useApi } from '../../lib/api';
import { saveFile } from '../../lib/download';
import { messageOf } from '../../lib/errors';
import { formatBytes } from '../../lib/format';
import { getToken } from '../../lib/session';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Banner, ProgressBar, say } from '../../ui/feedback';
import { Dialog } from '../../ui/overlay';

/** The choices, with their parameters of `GET /api/export` and the end of the file's name. */
const CHOICES = {
  jsonl: [{ format: 'jsonl' }, 'jsonl'],
  shopify: [{ format: 'shopify' }, 'csv'],
  excel: [{ format: 'shopify', bom: 'true', escape_formulas: 'true' }, 'csv'],
} as const;
type Choice = keyof typeof CHOICES;

/** Downloads the catalog in a chosen format. Closing the dialog ends the export. */
export function ExportDialog({ onClose }: { readonly onClose: () => void }) {
  const t = useTexts();
  const locale = useLocale();
  const { store_id } = useApi();
  const [choice, setChoice] = useState<Choice>('jsonl');
  const [bytes, setBytes] = useState(0);
  const stop = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    stop.current = controller;
    return () => controller.abort();
  }, []);
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const [parameters, end] = CHOICES[choice];
      const query = { ...parameters, store_id, base_url: location.origin };
      const content = await readExport(query, setBytes, stop.current.signal);
      const name = `catalog-${new Date().toISOString().slice(0, 10)}.${end}`;
      saveFile(content, name);
      say(t.imports.exported(name));
      onClose();
    },
  });
  return (
    <Dialog
      title={t.imports.exportTitle}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{t.common.cancel}</Button>
          <Button kind="primary" icon="download" isPending={isPending} onPress={() => mutate()}>
            {t.imports.download}
          </Button>
        </>
      }
    >
      <p className="muted">{t.imports.exportHint}</p>
      <RadioGroup
        className="stack tight"
        value={choice}
        onChange={(id) => setChoice(id as Choice)}
        isDisabled={isPending}
      >
        <Label className="label">{t.imports.exportFormat}</Label>
        {(Object.keys(CHOICES) as Choice[]).map((id) => (
          <Radio key={id} value={id} className="export-choice">
            <span className="export-dot" />
            <span className="stack export-texts">
              <strong>{t.imports.exports[id][0]}</strong>
              <span className="muted">{t.imports.exports[id][1]}</span>
            </span>
          </Radio>
        ))}
      </RadioGroup>
      {isPending && <ProgressBar label={t.imports.exporting(formatBytes(bytes, locale))} />}
      {error && <Banner tone="bad">{messageOf(error, t)}</Banner>}
    </Dialog>
  );
}

/**
 * Returns the export as the browser stores it, a large one on the disk. Calls `onBytes` with the number of bytes so far. Rejects
 * if the export was not complete.
 */
async function readExport(
  query: Readonly<Record<string, string>>,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Blob> {
  const { token } = await getToken();
  const path = `/api/export?${String(new URLSearchParams(query))}`;
  try {
    const answer = await fetch(path, { headers: { authorization: `Bearer ${token}` }, signal });
    if (!answer.ok)
      throw new CatalogApiError(answer.status, answer.headers, await answer.json().catch(() => undefined));
    let bytes = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, out) {
        bytes += chunk.length;
        onBytes(bytes);
        out.enqueue(chunk);
      },
    });
    return await new Response(answer.body!.pipeThrough(counter)).blob();
  } catch (error) {
    if (error instanceof CatalogApiError) throw error;
    throw new CatalogConnectionError('The export is not complete', { cause: error });
  }
}
