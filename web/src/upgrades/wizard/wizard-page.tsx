import { Button } from '@mantine/core'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { fieldIn } from '../../api/problem.ts'
import { counted } from '../../display/texts/counted.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { EmptyState, ProblemNote } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { useSites } from '../../orgs/sites.ts'
import { ChoosePanel } from './choose-panel.tsx'
import { type Draft, requestOf } from './draft.ts'
import { PlanChangesNote, PlanPanel } from './plan-panel.tsx'
import type { Preview } from './plan-summary.ts'
import { type DraftChange, StrategyPanel } from './strategy-panel.tsx'
import { usePlan } from './use-plan.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/upgrades/new')

/** True for fields of the request that the page shows; messages about others appear above the buttons. */
function hasField(draft: Draft, field: string | null): boolean {
  return field !== null && (field === 'version' || field === 'site_ids' || Object.hasOwn(requestOf(draft), field))
}

/** Describes an upgrade, shows its plan, and starts that plan. */
export function WizardPage() {
  const { orgId } = route.useParams()
  const draft = route.useSearch()
  const navigate = useNavigate({ from: '/orgs/$orgId/upgrades/new' })
  const mayUpgrade = useMay('write', { orgId })
  const sites = useSites(orgId).data
  const { plan, problem, changes, isPlanning, previewPlan, startPlan } = usePlan(orgId, draft)
  const field = problem === null ? null : fieldIn(problem.message)
  const errorOf = (...fields: readonly string[]): string | null =>
    problem !== null && field !== null && fields.includes(field) ? problem.message : null
  const change = (changed: DraftChange): void =>
    void navigate({ search: (current) => withoutAbsent({ ...current, ...changed }), replace: true })
  const title = (
    <PageTitle
      title="New upgrade"
      call={{ path: `/orgs/${orgId}/devices/upgrade`, body: { ...requestOf(draft), dry_run: true } }}
      above={
        <Link to="/orgs/$orgId/upgrades" params={{ orgId }}>
          Upgrades
        </Link>
      }
    />
  )
  if (!mayUpgrade)
    return (
      <>
        {title}
        <EmptyState title="Your role does not start upgrades">An admin of the organization can.</EmptyState>
      </>
    )
  return (
    <>
      {title}
      <ChoosePanel orgId={orgId} sites={sites} draft={draft} errorOf={errorOf} onChange={change} />
      <StrategyPanel draft={draft} errorOf={errorOf} onChange={change} />
      {changes !== null && plan !== undefined && <PlanChangesNote changes={changes} sites={sites} />}
      {plan !== undefined && <PlanPanel plan={plan} sites={sites} />}
      {!hasField(draft, field) && <ProblemNote problem={problem} />}
      <div className="wizard-buttons">
        <Button
          {...(plan !== undefined && { variant: 'default' })}
          size="xs"
          loading={isPlanning}
          onClick={previewPlan}
        >
          {plan === undefined ? 'Preview the plan' : 'Preview again'}
        </Button>
        {plan !== undefined && plan.total > 0 && (
          <ConfirmButton
            action="Start the upgrade"
            isPrimary
            effect={effectOf(plan)}
            run={() => startPlan(plan.plan_id)}
          />
        )}
      </div>
    </>
  )
}

function effectOf({ total, phases }: Preview): string {
  const sites = new Set(phases.flatMap((phase) => phase.sites.map(({ site_id: id }) => id)))
  return `Upgrades and restarts ${counted(total, 'device')} at ${counted(sites.size, 'site')}, in ${counted(phases.length, 'phase')}.`
}

function withoutAbsent(change: DraftChange): Draft {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
}
