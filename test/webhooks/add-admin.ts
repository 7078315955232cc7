import { uuidv7 } from 'uuidv7'
import type { Harness } from './harness.ts'

/** Adds a person with a role in the whole organization. */
export async function addAdmin(
  { ctx, scope: { orgId } }: Harness,
  email: string,
  role: 'admin' | 'read' = 'admin',
): Promise<void> {
  const [id, createdAt] = [uuidv7(), ctx.clock.now()]
  const person = { id, email, firstName: 'A', lastName: 'B', passwordHash: 'none', createdAt }
  await ctx.db.insertInto('admin').values(person).execute()
  const privilege = { orgId, id: uuidv7(), adminId: id, scope: 'org' as const, role }
  await ctx.db.insertInto('privilege').values(privilege).execute()
}
