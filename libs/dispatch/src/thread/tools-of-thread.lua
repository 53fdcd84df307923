-- The tools that a thread and a run may use.

-- Allow-lists of tools: a list of names, `x*` for all names that begin with x; nil = all. Of built-in tools a name may have a
-- pattern: `Bash` has all that `Bash(git:*)` has.
local function covers(list, name)
  local tool = string.match(name, '^(%u%a*)%(')
  for _, one in ipairs(list) do
    if one == name or one == tool then return true end
    local beginning = string.match(one, '^(.*)%*$')
    if beginning and string.sub(name, 1, #beginning) == beginning then return true end
  end
  return false
end

-- The tools that both lists allow.
local function commonTools(one, other)
  if not one or not other then return one or other end
  local kept, known = {}, {}
  local function keep(from, within)
    for _, name in ipairs(from) do
      if not known[name] and covers(within, name) then
        known[name] = true
        kept[#kept + 1] = name
      end
    end
  end
  keep(one, other)
  keep(other, one)
  return kept
end

-- The published profile of an agent or a skill: {instructions, model?, tools?, tenants?}; nil if there is none for the
-- tenant.
local function profileOf(kind, name, tenant)
  local profile = name and decoded(redis.call('HGET', key('profiles', kind), name))
  if not profile or not profile.tenants then return profile end
  for _, one in ipairs(profile.tenants) do
    if one == tenant then return profile end
  end
  return nil
end

-- The model of a thread's turns whose run names none.
local function modelOf(thread)
  local skill, agent = profileOf('skills', thread.skill, thread.tenant), profileOf('agents', thread.agent, thread.tenant)
  return (skill and skill.model) or thread.model or (agent and agent.model)
end

-- The tools that a thread (a hash), its agent and its active skill all allow. A missing agent or skill allows
-- none, since its tools are unknown.
local function toolsOf(thread)
  local tools = decoded(thread.allowedTools)
  if thread.agent then tools = commonTools(tools, (profileOf('agents', thread.agent, thread.tenant) or { tools = {} }).tools) end
  if thread.skill then tools = commonTools(tools, (profileOf('skills', thread.skill, thread.tenant) or { tools = {} }).tools) end
  return tools
end

-- A run keeps the tools that it began with, whatever changes in its thread, agent and skill. `began`: what
-- its session was given ('all' or a list). `tools`: what remains where the caller's key or a skill narrowed
-- it; nil if not narrowed.
local function toolsOfRun(thread, run)
  local tools = toolsOf(thread)
  return encodeList(tools) or 'all', run.tools and encodeList(commonTools(tools, decoded(run.tools)))
end

-- The tools of the run in progress, or of the thread when there is none.
local function toolsInRun(thread, runId)
  if not runId then return toolsOf(thread) end
  local held = redis.call('HMGET', key('run', runId), 'tools', 'began')
  if held[1] then return decoded(held[1]) end
  if held[2] == 'all' then return nil end
  return decoded(held[2]) or toolsOf(thread)
end
