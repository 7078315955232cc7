import { uuidv7 } from 'uuidv7'
import type { OrgScope } from '../../src/access/scope.ts'
import type { Harness } from './harness.ts'

/** Adds a person with a role in the whole organization, and in others. */
export async function addAdmin(
  { ctx, scope }: Harness,
  email: string,
  role: 'admin' | 'read' = 'admin',
  others: readonly OrgScope[] = [],
): Promise<void> {
  const [id, createdAt] = [uuidv7(), ctx.clock.now()]
  const person = { id, email, firstName: 'A', lastName: 'B', passwordHash: 'none', createdAt }
  await ctx.db.insertInto('admin').values(person).execute()
  const privileges = [scope, ...others].map(({ orgId }) => {
    return { orgId, id: uuidv7(), adminId: id, scope: 'org' as const, role }
  })
  await ctx.db.insertInto('privilege').values(privileges).execute()
}
