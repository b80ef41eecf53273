/** Case- and accent-insensitive form of a text, stored as a sort key and compared bytewise (decisions §5). */
export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .normalize('NFC')
    .trim();
}
