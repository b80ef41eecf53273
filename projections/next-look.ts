/**
 * A question that many ask at once. Every answer was looked up after it was asked for; who asks while a look is under
 * way shares the next one with all that ask meanwhile: one look at a time, however many ask.
 */
export class NextLook<Answer> {
  private readonly look: () => Promise<Answer>;
  private running: Promise<unknown> | undefined;
  private next: Promise<Answer> | undefined;

  constructor(look: () => Promise<Answer>) {
    this.look = look;
  }

  ask(): Promise<Answer> {
    if (this.next) return this.next;
    if (this.running === undefined) return this.begin();
    this.next = this.running.then(() => {
      this.next = undefined;
      return this.begin();
    });
    return this.next;
  }

  private begin(): Promise<Answer> {
    const looking = this.look();
    const over = (): void => {
      this.running = undefined;
    };
    this.running = looking.then(over, over);
    return looking;
  }
}
