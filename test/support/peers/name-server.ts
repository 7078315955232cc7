import { type RemoteInfo, createSocket } from 'node:dgram'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

/** The answer for a name: addresses, no such name (null), or silence, which may apply to AAAA only. */
export type NameAnswer =
  | { readonly a?: readonly string[]; readonly aaaa?: readonly string[] | 'silent'; readonly ttlS?: number }
  | 'silent'
  | null

/** A name server on loopback, over UDP. Names without an answer do not exist. */
export interface NameServer {
  /** `address:port`. */
  readonly address: string
  /** Each queried name, once for each record type. */
  readonly asked: string[]
  answer(name: string, answer: NameAnswer): void
  /** Answers the queries that it has left unanswered so far. */
  answerHeld(answer: NameAnswer): void
}

const TYPE_A = 1
const TYPE_AAAA = 28
const NO_SUCH_NAME = 3

interface Question {
  readonly packet: Buffer
  readonly name: string
  readonly type: number
  readonly from: RemoteInfo
}

/** @param delayMs The delay of each answer. */
export async function startNameServer(delayMs = 0): Promise<NameServer> {
  const socket = createSocket('udp4')
  const answers = new Map<string, NameAnswer>()
  const asked: string[] = []
  const held: Question[] = []
  const delayed = new Set<NodeJS.Timeout>()

  function reply(question: Question, answer: NameAnswer): void {
    const isSilent = answer === 'silent' || (question.type === TYPE_AAAA && answer?.aaaa === 'silent')
    if (isSilent) held.push(question)
    else if (delayMs === 0) send(question, answer)
    else delayed.add(setTimeout(() => send(question, answer), delayMs))
  }

  function send(question: Question, answer: Exclude<NameAnswer, 'silent'>): void {
    socket.send(encodeReply(question, answer), question.from.port, question.from.address)
  }

  socket.on('message', (packet, from) => {
    const question = { packet, from, ...parseQuestion(packet) }
    asked.push(question.name)
    reply(question, answers.get(question.name) ?? null)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  onTestFinished(() => {
    for (const timer of delayed) clearTimeout(timer)
    socket.close()
  })
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    answer: (name, answer) => void answers.set(name, answer),
    answerHeld(answer) {
      for (const question of held.splice(0)) reply(question, answer)
    },
  }
}

const HEADER_BYTES = 12

function parseQuestion(packet: Buffer): { readonly name: string; readonly type: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = packet.readUInt8(at); length > 0; length = packet.readUInt8(at)) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: packet.readUInt16BE(at + 1) }
}

/**
 * Encodes a reply by RFC 1035, 4.1: the header and the question of the query, then the records, whose names point to
 * the question.
 */
function encodeReply({ packet, name, type }: Question, answer: Exclude<NameAnswer, 'silent'>): Buffer {
  const addresses =
    type === TYPE_A ? (answer?.a ?? []) : type === TYPE_AAAA && answer?.aaaa !== 'silent' ? (answer?.aaaa ?? []) : []
  const question = packet.subarray(HEADER_BYTES, HEADER_BYTES + Buffer.byteLength(name) + 2 + 4)
  const header = Buffer.alloc(HEADER_BYTES)
  packet.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 | (answer === null ? NO_SUCH_NAME : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(addresses.length, 6)
  const records = addresses.map((address) => {
    const data = type === TYPE_A ? Buffer.from(address.split('.').map(Number)) : encodeIpv6(address)
    const record = Buffer.alloc(12)
    record.writeUInt16BE(0xc000 | HEADER_BYTES, 0)
    record.writeUInt16BE(type, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt32BE(answer?.ttlS ?? 60, 6)
    record.writeUInt16BE(data.length, 10)
    return Buffer.concat([record, data])
  })
  return Buffer.concat([header, question, ...records])
}

/** Encodes an address with at most one `::`. */
function encodeIpv6(address: string): Buffer {
  const [head = '', tail] = address.split('::')
  const groupsOf = (text = ''): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const [first, last] = [groupsOf(head), groupsOf(tail)]
  const groups = [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]))
}
