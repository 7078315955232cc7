/** An answer that is already encoded as JSON, for many callers with the same request at the same time. */
export class JsonText<T> {
  declare readonly value: T
  readonly text: string

  constructor(value: T) {
    this.text = JSON.stringify(value)
  }
}
