! SPDX-License-Identifier: MIT OR GPL-2.0-only
! Directives and functions of OpenMP as Fortran programs call them.
program teams
  use omp_lib
  implicit none
  integer :: i, n, total, members, place, deep
  integer(kind=omp_lock_kind) :: lock
  integer(kind=omp_nest_lock_kind) :: nest
  integer(kind=omp_sched_kind) :: kind
  real(8) :: field(1000), sum, from
  logical :: nested

  call omp_set_num_threads(4)
  call omp_set_dynamic(.false.)
  call omp_set_max_active_levels(2)
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  from = omp_get_wtime()
  total = 0
  members = 0
  !$omp parallel private(i)
  !$omp single
  members = omp_get_num_threads()
  !$omp end single
  do i = 1, 100
    call omp_set_lock(lock)
    total = total + 1
    call omp_unset_lock(lock)
    call omp_set_nest_lock(nest)
    call omp_set_nest_lock(nest)
    call omp_unset_nest_lock(nest)
    call omp_unset_nest_lock(nest)
  end do
  !$omp end parallel
  print '(a,2i6)', 'locks', members, total

  call omp_set_schedule(omp_sched_dynamic, 7)
  call omp_get_schedule(kind, n)
  sum = 0
  !$omp parallel do schedule(runtime) reduction(+:sum)
  do i = 1, 1000
    field(i) = i
    sum = sum + field(i)
  end do
  !$omp end parallel do
  print '(a,i3,f10.1)', 'loop', n, sum

  total = 0
  !$omp parallel
  !$omp single
  do i = 1, 20
    !$omp task firstprivate(i) shared(total)
    !$omp atomic
    total = total + i
    !$omp end task
  end do
  !$omp taskwait
  !$omp end single
  !$omp end parallel
  print '(a,i5)', 'tasks', total

  sum = 0
  !$omp parallel do ordered schedule(static, 3)
  do i = 1, 30
    !$omp ordered
    sum = sum * 0.5d0 + i
    !$omp end ordered
  end do
  !$omp end parallel do
  print '(a,f9.4)', 'ordered', sum

  deep = 0
  !$omp parallel num_threads(2) reduction(+:deep)
  !$omp parallel num_threads(2) reduction(+:deep)
  deep = deep + omp_get_level() * 100 + omp_get_active_level() * 10 + omp_get_team_size(1)
  !$omp end parallel
  !$omp end parallel
  nested = omp_get_max_active_levels() == 2
  print '(a,i5,l2)', 'nested', deep, nested

  place = 0
  !$omp parallel sections reduction(+:place)
  !$omp section
  place = place + 1
  !$omp section
  place = place + 2
  !$omp end parallel sections
  !$omp parallel workshare
  field = field * 2
  !$omp end parallel workshare
  print '(a,i3,f10.1,l2)', 'shares', place, field(1000), omp_get_wtime() >= from .and. omp_get_wtick() > 0
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  if (omp_in_parallel() .or. omp_get_max_threads() /= 4) stop 3
end program teams
