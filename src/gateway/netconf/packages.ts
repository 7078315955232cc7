import { type RpcReply, oneLine, partsOf, rpcs } from './rpc.ts'
import { type Task, waits } from './task.ts'
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

/**
 * Returns the reason of a failed installation with what the device itself says about its last one, if it says anything:
 * older releases don't know the question. Its words are for people: no recording shows which there are, so nothing
 * is decided by them.
 */
export function* withPackageStatus(failure: string): Task<string> {
  // The failure is certain, whether or not the connection breaks now.
  const reply = yield { rpc: rpcs.packageStatus, timeoutMs: waits.read, step: { step: 'install' }, mayBreak: true }
  if (reply.kind !== 'ok') return failure
  const said = partsOf(reply.root).flatMap(({ engine, element }) =>
    // Releases before 23.4 send the text as output.
    findAll(element, 'package-status-message', 'output')
      .map(({ text }) => oneLine(text))
      .filter((text) => text !== '' && !failure.includes(text))
      .map((text) => (engine === null ? text : `${engine}: ${text}`)),
  )
  return said.length === 0 ? failure : `${failure} (the device's package status: ${said.join('; ')})`
}
