/** An answer that is already encoded as JSON, for many callers who asked for the same at once. */
export class JsonText<T> {
  declare readonly value: T
  readonly text: string

  constructor(value: T) {
    this.text = JSON.stringify(value)
  }
}
