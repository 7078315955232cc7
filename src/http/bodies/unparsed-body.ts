/** A JSON body that another process parses and checks. */
export class UnparsedBody {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}
