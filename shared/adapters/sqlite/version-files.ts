import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The files of a realm's view versions: `views-v<N>.sqlite` and what SQLite keeps beside it. */
export class VersionFiles {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  pathOf(version: number): string {
    return join(this.folder, `views-v${version}.sqlite`);
  }

  exists(version: number): boolean {
    return existsSync(this.pathOf(version));
  }

  remove(version: number): void {
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.pathOf(version) + suffix, { force: true });
  }

  /** The versions of which there is some file. */
  list(): number[] {
    const numbers = readdirSync(this.folder).map((name) => /^views-v(\d+)\.sqlite/.exec(name)?.[1]);
    return [...new Set(numbers.filter((number) => number !== undefined).map(Number))];
  }
}
