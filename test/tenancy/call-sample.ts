import type { Operation } from '../../src/http/operation.ts'
import type { Answer, CallOptions, TestServer } from '../support/servers/server.ts'
import type { Ids, Sample } from './area.ts'

export interface SampleCall extends Pick<CallOptions, 'as' | 'headers'> {
  readonly sample: Sample
  /** Values of the path's parameters. */
  readonly ids: Ids
}

/** Calls the operation with its sample. */
export function callSample(
  server: TestServer,
  { id, method, at }: Operation,
  { sample: { query, body, headers }, ids, ...who }: SampleCall,
): Promise<Answer> {
  const path = at.path.replaceAll(/:(\w+)(\(.*?\))?/g, (_all, name: string) => {
    const value = ids[name]
    if (value === undefined) throw new Error(`${id}: no sample of ${name}`)
    return value
  })
  return server.call(String(method), query === undefined ? path : `${path}?${query}`, {
    ...who,
    ...(body !== undefined && { body }),
    headers: { ...headers, ...who.headers },
  })
}
