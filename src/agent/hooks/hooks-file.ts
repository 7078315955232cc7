import { readFile } from 'node:fs/promises'
import { messageOf } from '../../platform/message-of.ts'

/**
 * Reads the operator's file of commands.
 * @throws Error that names the file.
 */
export async function readHooksFile(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${path} is not valid JSON: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/**
 * A member that is misspelled would be a command that the agent does not have.
 * @param place What precedes the name of a member, such as "hooks.json: services.tunterm.".
 * @throws Error that names the member.
 */
export function assertMembers(value: object, known: readonly string[], place: string): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`${place}${unknown} is unknown; known are ${known.join(', ')}`)
}
