import { expect } from 'vitest'
import type { TestServer } from '../support/servers/server.ts'

/** Ids of one organization's objects, by the name of the path parameter. */
export type Ids = Readonly<Record<string, string>>

/** A call that succeeds for a caller with the right to make it. */
export interface Sample {
  readonly body?: unknown
  readonly query?: string
  readonly headers?: Record<string, string>
  /** Ids for the path that differ from those that its parameters' names imply. */
  readonly ids?: Ids
  /** The detail with which the operation refuses even an authorized caller, because nothing supports it yet. */
  readonly refusal?: string
}

/** Samples by operationId, in the order in which the owner calls them. */
export type Samples = Readonly<Record<string, Sample>>

/** Objects of the first organization, and a sample of every operation on them. */
export interface Area {
  readonly ids: Ids
  readonly samples: Samples
  /** Operations that delete something: called after all samples of all areas, the last area's first. */
  readonly removals?: Samples
}

/** @param ids Ids of the objects that earlier areas have created; `org_id` and `site_id` at least. */
export type MakeArea = (server: TestServer, ids: Ids) => Promise<Area>

/** @returns The id of the created object. */
export async function create(server: TestServer, path: string, body: unknown): Promise<string> {
  const headers: Record<string, string> = typeof body === 'string' ? { 'content-type': 'application/octet-stream' } : {}
  const answer = await server.call('POST', path, { body, headers })
  expect(answer, path).toMatchObject({ status: 200 })
  return answer.body.id
}
