import type { AnyJson } from '../support/contract/any-json.ts'
import type { Answer, TestServer } from '../support/servers/server.ts'
import { type Kind, kindsOf } from './kinds.ts'

/** One object of a kind that clients write and read. */
export interface Resource extends Required<
  Pick<Kind, 'name' | 'schema' | 'base' | 'known' | 'beside' | 'adds' | 'canUnset' | 'isUpdated'>
> {
  /** The number of the properties that it is used for, so that several objects share a long schema. */
  readonly share: { readonly index: number; readonly of: number }
  /** Updates it, or creates another one if clients can't update it. */
  write(body: object): Promise<Answer>
  read(): Promise<AnyJson>
  /**
   * Creates another one for a property, returns it as it is then read, and deletes it; null if clients can't create it.
   */
  readonly create: ((body: Readonly<Record<string, unknown>>, property: string) => Promise<Answer>) | null
}

/** Creates an object of every kind, several of those with many properties. */
export async function makeResources(server: TestServer): Promise<Resource[]> {
  const kinds = await kindsOf(server)
  return Promise.all(kinds.map((kind) => makeResource(server, kind)))
}

async function makeResource(server: TestServer, kind: Kind): Promise<Resource> {
  const { name, schema, list, base = {}, known = {}, beside = {}, adds = [], share = { index: 0, of: 1 } } = kind
  const { as = server.org, canUnset = true, isUpdated = true } = kind
  const post = (body: object) => server.call('POST', list ?? '', { as, body: { ...kind.proof, ...body } })
  let id = list === null ? '' : idOf(await post(base))
  const writeAnother = async (body: object): Promise<Answer> => {
    const answer = await post({ ...base, ...body })
    if (answer.status === 200) id = idOf(answer)
    return answer
  }
  const pathOf = (created: string): string => kind.path?.(created) ?? `${list ?? ''}/${created}`
  const read = async (created: string): Promise<AnyJson> => {
    const { body } = await server.call('GET', kind.readIn ?? pathOf(created), { as })
    const ids = new Set([created, pathOf(created).split('/').at(-1)])
    return kind.readIn === undefined ? body : body.find((item: AnyJson) => ids.has(item.id ?? item.admin_id))
  }
  return {
    ...{ name, schema, base, known, beside, adds, canUnset, share, isUpdated },
    write: (body) => (isUpdated ? server.call('PUT', pathOf(id), { as, body }) : writeAnother(body)),
    read: () => read(id),
    create:
      list === null || !isUpdated
        ? null
        : async (body, property) => {
            const { [property]: _, ...fresh } = kind.fresh?.() ?? {}
            const created = await post({ ...body, ...withoutProperty(base, property), ...fresh })
            if (created.status !== 200) return created
            const shown = await read(created.body.id)
            // An organization may have only a few of some kinds.
            await server.call('DELETE', pathOf(created.body.id), { as })
            return { ...created, body: shown }
          },
  }
}

function withoutProperty(base: Readonly<Record<string, unknown>>, property: string): Record<string, unknown> {
  const { [property]: _, ...rest } = base
  return rest
}

function idOf({ status, body }: Answer): string {
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.id
}
