/** A message of a channel, as it is sent. */
export interface Message {
  readonly seq: number
  readonly text: Buffer
  /** The same with `data` as a text of JSON. It is made once, and only if somebody gets it. */
  readonly textual: Buffer
}

/** @param text The encoded message, whose number is `seq`. */
export function createMessage(seq: number, text: string): Message {
  const bytes = Buffer.from(text)
  let textual: Buffer | null = null
  return {
    seq,
    text: bytes,
    get textual() {
      return (textual ??= withTextualData(bytes.toString()))
    },
  }
}

function withTextualData(text: string): Buffer {
  const message = JSON.parse(text) as { readonly data: unknown }
  return Buffer.from(JSON.stringify({ ...message, data: JSON.stringify(message.data) }))
}

const MAX_MESSAGES = 1000
const MAX_BYTES = 1024 * 1024

/** The last messages of a channel, for clients that were away for a moment. */
export interface History {
  /** The number of the last message. */
  readonly seq: number
  add(encode: (seq: number) => string): Message
  /** Lists the messages after number `seq`, oldest first; null if some of them have been dropped. */
  after(seq: number): readonly Message[] | null
  /** Drops all messages, as if many had been left out. */
  skip(): number
}

/** @param start A number above all that any channel of this name has had: clients may name those. */
export function createHistory(start: number): History {
  let messages: Message[] = []
  let bytes = 0
  let seq = start
  return {
    get seq() {
      return seq
    },
    add(encode) {
      seq += 1
      const message = createMessage(seq, encode(seq))
      messages.push(message)
      bytes += message.text.length
      let dropped = 0
      while (messages.length - dropped > MAX_MESSAGES || bytes > MAX_BYTES) {
        bytes -= messages[dropped]?.text.length ?? 0
        dropped += 1
      }
      if (dropped > 0) messages = messages.slice(dropped)
      return message
    },
    after(known) {
      if (known > seq || known < (messages[0]?.seq ?? seq + 1) - 1) return null
      return messages.filter((message) => message.seq > known)
    },
    skip() {
      messages = []
      bytes = 0
      seq += 1
      return seq
    },
  }
}
