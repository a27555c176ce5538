/** Prints the findings of Spectral's recommended rules for a description, as JSON. */
import { readFileSync } from 'node:fs'
import core from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'

const [, , file = ''] = process.argv
const spectral = new core.Spectral()
spectral.setRuleset({ extends: [[rulesets.oas, 'recommended']], rules: {} })
const problems = await spectral.run(JSON.parse(readFileSync(file, 'utf8')))
process.stdout.write(JSON.stringify(problems.map(({ code, message, path }) => `${code}: ${message} ${path.join('.')}`)))
