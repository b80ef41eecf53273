import {
  createNodeFromContent,
  EditorContent,
  Mark,
  mergeAttributes,
  Node,
  useEditor,
  useEditorState,
} from '@tiptap/react';
import StarterKit from '@tiptap/starter-kit';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { TextField } from '../../ui/fields';
import { Icon } from '../../ui/icon';
import { Dialog } from '../../ui/overlay';
import './rich-text.css';

/* The editor keeps every format that the service keeps (docs/interface/publications.md#descriptions), also without a button. */

const attributesNamed = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { default: null }]));

const marks = ['sub', 'sup', 'small', 'mark', 'abbr', 'ins'].map((name) =>
  Mark.create({
    name,
    addAttributes: () => attributesNamed('lang', 'dir', ...(name === 'abbr' ? ['title'] : [])),
    parseHTML: () => [{ tag: name }],
    renderHTML: ({ HTMLAttributes }) => [name, HTMLAttributes, 0],
  }),
);

/** Elements with blocks in them, by name: what they contain, and their group. */
const CONTAINERS: Readonly<Record<string, readonly [content: string, group?: string]>> = {
  table: ['caption? (thead | tbody | tfoot | tr)+', 'block'],
  caption: ['inline*'],
  thead: ['tr+'],
  tbody: ['tr+'],
  tfoot: ['tr+'],
  tr: ['(td | th)*'],
  td: ['block+'],
  th: ['block+'],
  dl: ['(dt | dd)+', 'block'],
  dt: ['inline*'],
  dd: ['block+'],
  figure: ['(block | figcaption)+', 'block'],
  figcaption: ['inline*'],
};
const CELL_ATTRIBUTES = ['colspan', 'rowspan', 'scope'];

const containers = Object.entries(CONTAINERS).map(([name, [content, group]]) =>
  Node.create({
    name,
    content,
    isolating: name === 'td' || name === 'th',
    ...(group && { group }),
    addAttributes: () => attributesNamed('lang', 'dir', ...(/^t[dh]$/.test(name) ? CELL_ATTRIBUTES : [])),
    parseHTML: () => [{ tag: name }],
    renderHTML: ({ HTMLAttributes }) => [name, HTMLAttributes, 0],
  }),
);

/** The policy of the page allows no pictures of other hosts. The editor shows their alternative text or address instead. */
const image = Node.create({
  name: 'image',
  group: 'inline',
  inline: true,
  addAttributes: () => attributesNamed('src', 'alt', 'title', 'width', 'height'),
  parseHTML: () => [{ tag: 'img[src]' }],
  renderHTML: ({ HTMLAttributes }) => ['img', mergeAttributes(HTMLAttributes)],
  addNodeView:
    () =>
    ({ node }) => {
      const dom = document.createElement('span');
      dom.className = 'picture-note';
      dom.textContent = node.attrs.alt || node.attrs.src;
      return { dom };
    },
});

const EXTENSIONS = [
  StarterKit.configure({
    link: {
      openOnClick: false,
      protocols: ['http', 'https', 'mailto'],
      HTMLAttributes: { target: null, rel: 'noopener nofollow' },
    },
    trailingNode: false,
  }),
  ...marks,
  ...containers,
  image,
];

interface RichTextProps {
  readonly label: string;
  /** HTML. */
  readonly value: string;
  readonly onChange: (html: string) => void;
  readonly fault?: string | undefined;
  readonly hint?: ReactNode;
  readonly lang?: string;
}

/** A text with formats. An empty text is `''`. */
export default function RichText({ label, value, onChange, fault, hint, lang }: RichTextProps) {
  const t = useTexts();
  const [link, setLink] = useState<string>();
  const onUpdate = useRef(onChange);
  onUpdate.current = onChange;
  const editor = useEditor({
    extensions: EXTENSIONS,
    content: value,
    injectCSS: false,
    editorProps: {
      attributes: {
        class: 'rich-text input',
        role: 'textbox',
        'aria-label': label,
        'aria-multiline': 'true',
        dir: 'auto',
        ...(lang && { lang }),
      },
    },
    onUpdate: ({ editor }) => onUpdate.current(editor.isEmpty ? '' : editor.getHTML()),
  });
  // What another window or person wrote.
  useEffect(() => {
    // React may show the page again that it has just hidden. A new editor follows.
    if (editor.isDestroyed) return;
    if ((editor.isEmpty ? '' : editor.getHTML()) === value) return;
    const parsed = createNodeFromContent(value, editor.schema, { slice: false });
    if ('type' in parsed && parsed.eq(editor.state.doc)) return;
    editor.commands.setContent(value, { emitUpdate: false });
  }, [editor, value]);
  const active = useEditorState({
    editor,
    selector: ({ editor }) => ({
      block: ([2, 3, 4] as const).find((level) => editor.isActive('heading', { level })) ?? 0,
      bold: editor.isActive('bold'),
      italic: editor.isActive('italic'),
      underline: editor.isActive('underline'),
      strike: editor.isActive('strike'),
      bulletList: editor.isActive('bulletList'),
      orderedList: editor.isActive('orderedList'),
      blockquote: editor.isActive('blockquote'),
      link: editor.isActive('link'),
    }),
  });
  const run = () => editor.chain().focus();
  const texts = t.product.formats;
  const tools = [
    ['bold', texts.bold, <b key="b">B</b>, () => run().toggleBold().run()],
    ['italic', texts.italic, <i key="i">I</i>, () => run().toggleItalic().run()],
    ['underline', texts.underline, <u key="u">U</u>, () => run().toggleUnderline().run()],
    ['strike', texts.strike, <s key="s">S</s>, () => run().toggleStrike().run()],
    [
      'bulletList',
      texts.bulletList,
      <Icon key="ul" name="bulletList" />,
      () => run().toggleBulletList().run(),
    ],
    [
      'orderedList',
      texts.orderedList,
      <Icon key="ol" name="orderedList" />,
      () => run().toggleOrderedList().run(),
    ],
    ['blockquote', texts.quote, <Icon key="q" name="quote" />, () => run().toggleBlockquote().run()],
    [
      'link',
      texts.link,
      <Icon key="a" name="link" />,
      () => setLink((editor.getAttributes('link').href as string) ?? ''),
    ],
  ] as const;
  return (
    <div className="field">
      <span className="label">{label}</span>
      <div role="toolbar" aria-label={texts.toolbar} className="rich-text-tools">
        <select
          aria-label={texts.style}
          value={active.block}
          onChange={({ target }) => {
            const level = Number(target.value);
            if (level === 0) run().setParagraph().run();
            else
              run()
                .setHeading({ level: level as 2 | 3 | 4 })
                .run();
          }}
        >
          <option value={0}>{texts.paragraph}</option>
          {[2, 3, 4].map((level) => (
            <option key={level} value={level}>
              {texts.heading(level - 1)}
            </option>
          ))}
        </select>
        {tools.map(([name, title, shown, onClick]) => (
          <button
            key={name}
            type="button"
            title={title}
            aria-label={title}
            aria-pressed={active[name]}
            onClick={onClick}
          >
            {shown}
          </button>
        ))}
      </div>
      <EditorContent editor={editor} />
      {hint && <span className="hint">{hint}</span>}
      {fault && <span className="fault">{fault}</span>}
      <Dialog
        title={texts.link}
        isOpen={link !== undefined}
        onClose={() => setLink(undefined)}
        footer={
          <Button
            kind="primary"
            onPress={() => {
              const address = /^(https?:|mailto:)/i.test(link ?? '') ? link! : `https://${link}`;
              if (link) run().extendMarkRange('link').setLink({ href: address }).run();
              else run().extendMarkRange('link').unsetLink().run();
              setLink(undefined);
            }}
          >
            {t.common.save}
          </Button>
        }
      >
        <TextField
          label={texts.address}
          hint={texts.addressHint}
          type="url"
          value={link ?? ''}
          onChange={setLink}
          autoFocus
        />
      </Dialog>
    </div>
  );
}
