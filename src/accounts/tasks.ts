import type { Context } from '../platform/context.ts'
import type { Task } from '../platform/time/jobs.ts'
import { sweepInvites } from './admins/sweep-invites.ts'
import { sweepRegistrations } from './registration/sweep.ts'
import { sweepTokens } from './tokens/sweep-tokens.ts'

/** The chores of accounts, for startJobs(). */
export function accountTasks(ctx: Context): Task[] {
  return [
    { name: 'token_sweep', cron: '20 * * * *', run: () => sweepTokens(ctx) },
    { name: 'registration_sweep', cron: '30 * * * *', run: () => sweepRegistrations(ctx) },
    { name: 'invite_sweep', cron: '40 * * * *', run: () => sweepInvites(ctx) },
  ]
}
