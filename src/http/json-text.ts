/** An answer that has been written as JSON already, for many who asked for the same at once. */
export class JsonText<T> {
  declare readonly value: T
  readonly text: string

  constructor(value: T) {
    this.text = JSON.stringify(value)
  }
}
