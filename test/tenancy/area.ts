import { expect } from 'vitest'
import type { TestServer } from '../support/server.ts'

/** Ids of one organization's objects, by the name of the path parameter. */
export type Ids = Readonly<Record<string, string>>

/** A call that would succeed for who may make it. */
export interface Sample {
  readonly body?: unknown
  readonly query?: string
  readonly headers?: Record<string, string>
  /** Where the path needs other ids than its parameters' names say. */
  readonly ids?: Ids
  /** Detail with which even who may call it is refused, of what nothing can do yet. */
  readonly refusal?: string
}

/** By operationId, in the order in which they are called as the owner. */
export type Samples = Readonly<Record<string, Sample>>

/** Objects of the first organization, and a sample of every operation on them. */
export interface Area {
  readonly ids: Ids
  readonly samples: Samples
  /** Operations that take something away: called after all samples of all areas, the last area's first. */
  readonly removals?: Samples
}

/** @param ids What the areas before it have made; `org_id` and `site_id` at least. */
export type MakeArea = (server: TestServer, ids: Ids) => Promise<Area>

/** @returns The id of what was made. */
export async function create(server: TestServer, path: string, body: unknown): Promise<string> {
  const headers: Record<string, string> = typeof body === 'string' ? { 'content-type': 'application/octet-stream' } : {}
  const answer = await server.call('POST', path, { body, headers })
  expect(answer, path).toMatchObject({ status: 200 })
  return answer.body.id
}
