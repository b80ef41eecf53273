/** The fields that Node sets on errors of the operating system. */
interface SystemError {
  readonly code?: string;
  readonly syscall?: string;
  readonly address?: string;
  readonly hostname?: string;
  readonly port?: number;
  readonly message?: string;
  readonly cause?: unknown;
}

/** Says why a process cannot start, and what to do about it. */
export function describeStartError(error: unknown): string {
  const { code, syscall, address, hostname, port, message, cause } = error as SystemError;
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use. Set another one, such as PORT=${Number(port) + 1}.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `Cannot listen on host ${address ?? hostname}. Set HOST to an address of this machine.`;
  // `bind` in a process of `node:cluster`.
  if (code === 'EACCES' && (syscall === 'listen' || syscall === 'bind'))
    return `Not permitted to listen on port ${port}. Set PORT to another one.`;
  if (code === 'EACCES') return `Permission denied (${message}).`;
  const messages = [message, cause instanceof Error ? cause.message : undefined].filter(Boolean);
  return messages.length > 0 ? messages.join(': ') : String(error);
}
