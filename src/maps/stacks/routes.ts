import { site } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { showOneTo, showTo } from '../../orgs/secrets/reveal.ts'
import { createMapStack } from './create-map-stack.ts'
import { listMapStacks } from './store.ts'
import { MapStackBody, MapStackReply, MapStacksQuery, parseMapStacks, presentMapStack } from './wire.ts'

const tag = 'Sites MapStacks'

/** Source: addendum, Sites MapStacks. */
export const mapStackOperations: Operation[] = [
  listOperation({
    id: 'listSiteMapStacks',
    summary: 'List the stacks of floor plans of a site',
    tag,
    at: site('/mapstacks', { needs: 'read' }),
    query: MapStacksQuery,
    item: MapStackReply,
    run: async (ctx, { scope, caller, query, page }) => {
      const stacks = await listMapStacks(ctx.db, scope, { conditions: parseMapStacks(query), page })
      const { rows, ...whole } = presentPage(stacks, presentMapStack)
      return { ...whole, rows: await showTo(ctx, { caller, scope }, rows) }
    },
  }),
  operation({
    id: 'createSiteMapStack',
    summary: 'Create a stack of floor plans',
    method: 'POST',
    tag,
    at: site('/mapstacks', { needs: 'write' }),
    body: MapStackBody,
    reply: MapStackReply,
    run: async (ctx, { scope, caller, body }) =>
      showOneTo(ctx, { caller, scope }, presentMapStack(await createMapStack(ctx, scope, body)), body),
  }),
].flat()
