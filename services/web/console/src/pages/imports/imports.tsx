import { useMutation, useMutationState, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Import } from 'catalog-client';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { DropZone, FileTrigger, isFileDropItem } from 'react-aria-components';
import { useLocation } from 'wouter';
import { useApi } from '../../lib/api';
import { messageOf } from '../../lib/errors';
import { formatBytes } from '../../lib/format';
import { type Texts, useLocale, useTexts } from '../../texts/texts';
import { Ago } from '../../ui/ago';
import { Button } from '../../ui/button';
import { Banner, EmptyState, ErrorState, Loading, ProgressBar, sayFailed } from '../../ui/feedback';
import { Icon } from '../../ui/icon';
import { Card, Page } from '../../ui/layout';
import { Table } from '../../ui/table';
import { ExportDialog } from './export-dialog';
import { faultOf } from './file-faults';
import { IMPORT_PERMISSIONS, ImportState, problemsOf } from './state';
import './imports.css';

/** How often the page reads the list again while an import runs. */
const POLL_MS = 2_000;
/** What a file dialog offers. The service recognises a file by its content. */
const FILE_TYPES = ['.csv', '.tsv', '.txt', '.xlsx', '.xml', '.jsonl', '.json'];
/** Uploads that run are found by this key, also after the page was left and opened again. */
const UPLOAD_KEY = ['imports', 'upload'];

interface Upload {
  readonly file: File;
  readonly stop: AbortController;
}

export default function ImportsPage() {
  const t = useTexts();
  const { may } = useApi();
  const [is_exporting, setExporting] = useState(false);
  return (
    <Page
      title={t.imports.title}
      actions={
        may('read:publications', 'read:listings', 'read:media') && (
          <Button icon="export" onPress={() => setExporting(true)}>
            {t.imports.export}
          </Button>
        )
      }
    >
      {may(...IMPORT_PERMISSIONS) ? (
        <UploadZone>
          <Imports />
        </UploadZone>
      ) : (
        <EmptyState icon="key" title={t.imports.needsPermissions}>
          {t.imports.needsPermissionsHint}
        </EmptyState>
      )}
      {is_exporting && <ExportDialog onClose={() => setExporting(false)} />}
    </Page>
  );
}

/**
 * Where a file is chosen, or dropped, also on `children` below. Says at once why a file cannot be imported, and shows an upload
 * until its end.
 */
function UploadZone({ children }: { readonly children: ReactNode }) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [refused, setRefused] = useState<readonly [name: string, reason: string]>();
  // An upload goes on when the page is left.
  const is_shown = useRef(true);
  useEffect(() => {
    is_shown.current = true;
    return () => {
      is_shown.current = false;
    };
  }, []);
  const { mutate } = useMutation({
    mutationKey: UPLOAD_KEY,
    mutationFn: ({ file, stop }: Upload) => client.imports.create(file, {}, { signal: stop.signal }),
    onError: (error, { file, stop }) => {
      if (stop.signal.aborted) return;
      const reason = messageOf(error, t);
      if (is_shown.current) setRefused([file.name, reason]);
      else sayFailed(`${t.imports.refused(file.name)}: ${reason}`);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['imports'] }),
  });
  const [running] = useMutationState({
    filters: { mutationKey: UPLOAD_KEY, status: 'pending' },
    select: ({ state }) => state.variables as Upload,
  });
  const upload = async (file: File) => {
    setRefused(undefined);
    const fault = await faultOf(file);
    if (fault) return setRefused([file.name, t.imports.faults[fault]]);
    const stop = new AbortController();
    mutate({ file, stop }, { onSuccess: ({ id }) => navigate(`/imports/${id}`) });
  };
  return (
    <DropZone
      className="stack"
      aria-label={t.imports.drop}
      isDisabled={running !== undefined}
      getDropOperation={() => 'copy'}
      onDrop={({ items }) => {
        const item = items.find(isFileDropItem);
        if (item) void item.getFile().then(upload);
        else setRefused([t.imports.dropped, t.imports.faults.unreadable]);
      }}
    >
      {refused && (
        <Banner tone="bad" title={t.imports.refused(refused[0])}>
          {refused[1]}
        </Banner>
      )}
      <div className="drop-zone">
        {running ? (
          <div className="uploading">
            <ProgressBar
              label={t.imports.uploading(running.file.name, formatBytes(running.file.size, locale))}
            />
            <Button onPress={() => running.stop.abort()}>{t.common.cancel}</Button>
          </div>
        ) : (
          <>
            <Icon name="upload" size={28} />
            <div className="drop-texts">
              <strong>{t.imports.drop}</strong>
              <span className="muted">{t.imports.dropHint}</span>
            </div>
            <FileTrigger
              acceptedFileTypes={FILE_TYPES}
              onSelect={(files) => files?.[0] && void upload(files[0])}
            >
              <Button kind="primary">{t.imports.choose}</Button>
            </FileTrigger>
          </>
        )}
      </div>
      {children}
    </DropZone>
  );
}

function Imports() {
  const t = useTexts();
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ['imports', 'list'],
    queryFn: () => client.imports.list().all(),
    refetchInterval: ({ state }) => state.data?.some(({ status }) => status === 'running') && POLL_MS,
  });
  if (error) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading />;
  return (
    <Card isFlush>
      <Table
        label={t.imports.title}
        items={data}
        nameOf={({ file }) => file}
        hrefOf={({ id }) => `/imports/${id}`}
        columns={[
          {
            id: 'file',
            label: t.imports.file,
            cell: ({ file }) => (
              <strong dir="auto" className="file-name">
                {file}
              </strong>
            ),
          },
          { id: 'state', label: t.imports.state, cell: (each) => <ImportState of={each} /> },
          { id: 'result', label: t.imports.result, cell: (each) => resultOf(each, t) },
          {
            id: 'when',
            label: t.imports.when,
            isNumber: true,
            cell: ({ created_at }) => <Ago at={created_at} />,
          },
        ]}
        empty={
          <EmptyState icon="import" title={t.imports.empty}>
            {t.imports.emptyHint}
          </EmptyState>
        }
      />
    </Card>
  );
}

/** Such as `120 new · 4 changed · 2 problems`. */
function resultOf({ step, status, report, undone }: Import, t: Texts): string {
  if (step === 'undo' && status === 'done')
    return t.history.undoneCounts(undone?.reverted ?? 0, undone?.deleted ?? 0);
  if (!report) return '';
  const { created, updated } = report.publications;
  const { counts } = t.imports;
  const failed = problemsOf(report);
  const parts = [
    created > 0 && counts.created(created),
    updated > 0 && counts.updated(updated),
    failed > 0 && counts.failed(failed),
  ].filter(Boolean);
  return parts.join(' · ') || t.imports.noCounts;
}
