import type { Static, TObject, TProperties, TSchema } from 'typebox'
import { Type } from 'typebox'
import type { Context } from '../../platform/context.ts'
import type { Location, ScopeAt } from '../at.ts'
import { type Page, type Paged, pageHeaders, pageQuery, parsePage, setPageHeaders } from './lists.ts'
import {
  type Call,
  type Heading,
  type MaybePromise,
  type None,
  type Operation,
  type Query,
  type QueryOf,
  operation,
} from '../operation.ts'
import { type Counts, CountReply, type TimeRange, presentCounts, presentSearch, searchReplyOf } from './search.ts'

/** Declares the list of a noun: an array of `item`, page by page, with the headers that lead to the next one. */
export function listOperation<
  L extends Location,
  I extends TSchema,
  P extends TProperties = None,
  Q extends Query = TObject<typeof pageQuery>,
>({
  item,
  query,
  run,
  ...heading
}: Heading<L, P, Q> & {
  readonly item: I
  readonly run: (
    ctx: Context,
    call: Call<L, P, Q, TObject<None>> & { readonly page: Page },
  ) => MaybePromise<Paged<Static<I>>>
}): Operation[] {
  return operation<L, TSchema, P, Q>({
    ...heading,
    method: 'GET',
    query: query ?? (Type.Object(pageQuery) as unknown as Q),
    reply: Type.Array(item),
    headers: pageHeaders,
    run: async (ctx, call) => {
      const page = parsePage(call.query)
      const found = await run(ctx, { ...call, page })
      setPageHeaders(call.reply, page, found)
      return found.rows
    },
  })
}

type SearchCall<L extends Location, P extends TProperties, Q extends Query, S> = Call<L, P, Q, TObject<None>> & {
  readonly search: S
}

/** Declares a search: the rows of a time range, page by page. Source: contract, "Search". */
export function searchOperation<
  L extends Location,
  I extends TSchema,
  S extends TimeRange & Page,
  Q extends Query,
  P extends TProperties = None,
>({
  item,
  parse,
  run,
  keepsRange = true,
  ...heading
}: Heading<L, P, Q> & {
  readonly query: Q
  readonly item: I
  /** False if the range selects nothing that changes while a client reads the pages. */
  readonly keepsRange?: boolean
  /** Headers of the answer, which `run` sets. */
  readonly headers?: TProperties
  /** Returns the parsed query. @throws AppError invalid naming the field. */
  readonly parse: (query: QueryOf<Q>, now: Date, scope: ScopeAt<L>) => S
  readonly run: (ctx: Context, call: SearchCall<L, P, Q, S>) => MaybePromise<Paged<Static<I>>>
}): Operation[] {
  return operation<L, TSchema, P, Q>({
    ...heading,
    method: 'GET',
    reply: searchReplyOf(item),
    run: async (ctx, call) => {
      const search = parse(call.query, ctx.clock.now(), call.scope)
      return presentSearch(await run(ctx, { ...call, search }), (row) => row, { search, url: call.url, keepsRange })
    },
  })
}

/** Declares a count: how often each value of a field occurs. Source: contract, "Count". */
export function countOperation<
  L extends Location,
  S extends TimeRange & { readonly distinct: string; readonly limit: number },
  Q extends Query,
  P extends TProperties = None,
>({
  parse,
  run,
  ...heading
}: Heading<L, P, Q> & {
  readonly query: Q
  /** Returns the parsed query. @throws AppError invalid naming the field. */
  readonly parse: (query: QueryOf<Q>, now: Date, scope: ScopeAt<L>) => S
  readonly run: (ctx: Context, call: SearchCall<L, P, Q, S>) => Promise<Counts>
}): Operation[] {
  return operation<L, typeof CountReply, P, Q>({
    ...heading,
    method: 'GET',
    reply: CountReply,
    run: async (ctx, call) => {
      const search = parse(call.query, ctx.clock.now(), call.scope)
      return presentCounts(await run(ctx, { ...call, search }), search)
    },
  })
}
