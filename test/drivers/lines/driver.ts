import { deviceText } from '../../../src/gateway/device-text.ts'
import type {
  Driver,
  DriverCommand,
  DriverDevice,
  EncodedCommand,
  Outcome,
  Rejection,
} from '../../../src/gateway/driver.ts'

/** The messages of a protocol that exists only for the conformance suite: one line of text each. */
export interface LineMessages {
  /** `hello <mac> <version>` */
  readonly hello: { readonly mac: string; readonly version: string }
  /** The text after `do <id>`: `restart`, `stage <uri>` or `activate`. */
  readonly call: string
  /** `ok <id> <text>` or `no <id> <text>`. */
  readonly reply: { readonly word: unknown; readonly text: unknown }
  /** Devices send none. */
  readonly event: unknown
}

const TIMEOUT_MS = 30_000

/**
 * Its devices download and reboot in two steps. They have no parts that restart individually, and nothing that blinks.
 */
export const lineDriver: Driver<LineMessages> = {
  capabilitiesOf: () => ({ commands: ['restart', 'stage', 'activate'], restart_members: [], restart_nodes: [] }),
  encode,
  decodeReply: (_, { word, text }) => outcomeOf(word, typeof text === 'string' ? deviceText(text) : ''),
  decodeEvent: () => null,
}

function encode(_: DriverDevice, command: DriverCommand): EncodedCommand<string> | Rejection {
  switch (command.kind) {
    case 'restart':
    case 'activate':
      return { kind: 'call', call: command.kind, timeoutMs: TIMEOUT_MS }
    case 'stage':
      return { kind: 'call', call: `stage ${command.uri}`, timeoutMs: TIMEOUT_MS }
    case 'upgrade':
    case 'locate':
    case 'unlocate':
    case 'restore_backup':
    case 'snapshot':
    case 'ping':
    case 'support':
      return { kind: 'rejected', code: 'unsupported', text: `No line says ${command.kind}`, final: true }
  }
}

function outcomeOf(word: unknown, text: string): Outcome | null {
  if (word === 'ok') return { kind: 'done', text }
  return word === 'no' ? { kind: 'rejected', code: 'no', text, final: false } : null
}
