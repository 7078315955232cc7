import { afterAll } from 'vitest'
import { dropReturned } from './database/lent-databases.ts'

afterAll(dropReturned)
