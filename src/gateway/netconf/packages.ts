import { type RpcReply, oneLine } from './rpc.ts'
import { findAll } from './xml.ts'

/** The phrases by which a device reports that another attempt would fail as well. */
export const refusesContent = /signature|not (?:supported|compatible)|incompatible|verification failed/i

/** The phrases by which a device reports that it is still installing at the request of a lost connection. */
export const isBusy = /in progress|already (?:running|being)|another (?:install|package|software|upgrade)|\bbusy\b/i

/** Returns why a package was not installed; null if it was. A result other than 0, or none, is looked for in the text. */
export function packageFailure(reply: RpcReply): string | null {
  if (reply.kind === 'broken') return 'the connection broke'
  if (reply.kind === 'error') return oneLine(reply.text)
  const results = findAll(reply.root, 'package-result').map(({ text }) => text)
  if (results.length > 0 && results.every((result) => result === '0')) return null
  const output = findAll(reply.root, 'output').map(({ text }) => text)
  const error = output.flatMap((text) => text.split('\n')).find((line) => /\bERROR:/i.test(line))
  if (error !== undefined) return oneLine(error)
  return results.length > 0 ? `the device reports ${results.join(', ')}` : null
}
